"""What a model has to beat: controls that leave an idea out, peers of the literature and other packages."""
