from xkg.agents.workspace.host_paths import without_host_paths

PLACES = {"/home/ada/kg/site": "/site", "/home/ada": "/tmp/job", "/data": "/tmp/job/work/data", "/": "nothing"}


def test_paths_are_those_inside() -> None:
    text = 'File "/home/ada/kg/site/np.py", line 3: /data/x.csv and (/home/ada/a.py), url http://h/data, ~/data, ./data'
    assert without_host_paths(text, PLACES) == (
        'File "/site/np.py", line 3: /tmp/job/work/data/x.csv and (/tmp/job/a.py), url http://h/data, ~/data, ./data'
    )
    assert without_host_paths("/database and /data-old and /home/adam", PLACES) == (
        "/database and /data-old and /home/adam"
    )
    assert without_host_paths("/data", {}) == "/data"
