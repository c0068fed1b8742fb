"""Experiments: splits, predictions, figures of merit, records that survive a kill."""
