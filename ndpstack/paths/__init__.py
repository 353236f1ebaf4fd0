"""What a host knows of its network: paths, priorities, link rate, MTU, trimming.

    with PathWatcher("/run/ndpstack/hosts.sock", host="h1") as watcher:
        settings = watcher.wait()
        labels = [path.value for path in settings.paths_to("10.0.1.7")]

A watcher keeps the last settings when the daemon is away, and asks again until it is back.
"""

from ndpstack.paths._settings import HostSettings as HostSettings
from ndpstack.paths._settings import Marks as Marks
from ndpstack.paths._settings import Path as Path
from ndpstack.paths._settings import SettingsError as SettingsError
from ndpstack.paths._settings import Trimming as Trimming
from ndpstack.paths._watcher import PathWatcher as PathWatcher
