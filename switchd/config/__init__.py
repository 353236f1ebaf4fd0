"""switchd's configuration: one TOML file and conf.d, typed, checked, and written back."""

from switchd.config._check import BUILT_IN as BUILT_IN
from switchd.config._check import parse_endpoint as parse_endpoint
from switchd.config._errors import ConfigError as ConfigError
from switchd.config._files import Source as Source
from switchd.config._files import explain as explain
from switchd.config._files import merge as merge
from switchd.config._load import Loaded as Loaded
from switchd.config._load import assemble as assemble
from switchd.config._load import from_table as from_table
from switchd.config._load import load as load
from switchd.config._schema import Config as Config
from switchd.config._schema import Daemon as Daemon
from switchd.config._schema import FabricPath as FabricPath
from switchd.config._schema import Faults as Faults
from switchd.config._schema import Mirror as Mirror
from switchd.config._schema import Port as Port
from switchd.config._schema import Profile as Profile
from switchd.config._schema import Switch as Switch
from switchd.config._write import plain as plain
