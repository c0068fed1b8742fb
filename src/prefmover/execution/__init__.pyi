from .executor import Done as Done
from .executor import Executor as Executor
from .executor import LocalExecutor as LocalExecutor
from .executor import Summary as Summary
from .executor import Task as Task
from .executor import open_executor as open_executor
from .ray import RayExecutor as RayExecutor
