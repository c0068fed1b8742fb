"""FileOptions: one field is an option, a setting of experiments, and an argument in Python."""

from dataclasses import fields

import pytest

from prefmover import Dataset, FileOptions, InputError, Ratings
from prefmover.cli.evaluate import Settings
from prefmover.cli.options import SourceOptions
from prefmover.data.file_options import SETTINGS
from prefmover.evaluation.experiment import Experiment
from tests.messages import names


def test_every_option_is_everywhere():
    typed = [setting.name for setting in SETTINGS]
    assert [setting.field for setting in SETTINGS] == [one.name for one in fields(FileOptions)]
    assert set(typed) <= set(Experiment.model_fields)
    assert set(typed) <= {one.name for one in fields(Settings)}
    assert set(typed) - {one.name for one in fields(SourceOptions)} == {"time_column"}  # for splits only


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_defaults_agree(setting):
    assert Experiment(dataset="cinema").file_options == FileOptions()
    expected = () if setting.kind is list else setting.default
    assert Experiment.model_fields[setting.name].default == expected


def test_an_error_says_where_to_pass_an_option(tmp_path):
    file = tmp_path / "ratings.csv"
    file.write_text("Kunde,item,rating\nann,x,5\n")
    for read in (Ratings.read, Dataset.from_files):
        with pytest.raises(InputError, match=names("user=")) as caught:
            read(file)
        assert "FileOptions(user=...)" in caught.value.__notes__[0]
    assert Dataset.from_files(file, options=FileOptions(user="Kunde")).ratings["ann"] == {"x": 5.0}


def test_a_data_set_from_files_is_aligned_once(tmp_path, monkeypatch):
    ratings, items, aligned = tmp_path / "stars.csv", tmp_path / "books.csv", []
    ratings.write_text("user,item,rating\nann,x,4\nann,y,5\nbob,y,2\n")
    items.write_text("item,tags\nx,a|b\ny,b\n")
    init = Dataset.__init__
    monkeypatch.setattr(Dataset, "__init__", lambda *args, **options: aligned.append(init(*args, **options)))
    data = Dataset.from_files(ratings, items)
    fixed = data.with_geometry(data.geometry).with_ratings(data.ratings.take(users=[0, 1]))
    assert fixed.geometry is data.geometry
    assert len(aligned) == 1
