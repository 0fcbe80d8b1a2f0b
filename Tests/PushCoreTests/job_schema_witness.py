"""Says what a JSON Schema validator that is not ours makes of jobs: job_schema_witness.py SCHEMA JOBS

SCHEMA is a file with the schema, JOBS one with a job a line. Prints a line for each: a dash when it is valid, or what is wrong.
"""

import json
import sys

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

schema = json.load(open(sys.argv[1], encoding="utf-8"))
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
for line in open(sys.argv[2], encoding="utf-8"):
    error = best_match(validator.iter_errors(json.loads(line)))
    print(f"{error.json_path}: {error.message[:200]}".replace("\n", " ") if error else "-")
