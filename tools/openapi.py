"""Print the OpenAPI schema of the service, for the types of the explorer: ``python -m tools.openapi``."""

import json

from prefmover.data.scale import Scale
from prefmover.server.app import openapi_schema

if __name__ == "__main__":
    print(json.dumps(openapi_schema(Scale(1, 5, 1))))
