from xkg.sandbox.packages.clashes import clash_bounds


def test_sets_that_do_not_work_together() -> None:
    assert clash_bounds({"torch": "2.2.2+cpu", "numpy": "2.1.0"}) == ["numpy<2"]
    assert clash_bounds({"torch": "2.3.0", "numpy": "2.1.0"}) == []
    assert clash_bounds({"torch": "1.13.1", "numpy": "1.26.4"}) == []
    assert clash_bounds({"tensorflow-cpu": "2.8.0", "numpy": "2.0", "protobuf": "4.21.1"}) == ["numpy<2", "protobuf<4"]
    assert clash_bounds({"gym": "0.26.2", "numpy": "2.3.1"}) == ["numpy<2"]
    assert clash_bounds({"numpy": "2.0"}) == []
