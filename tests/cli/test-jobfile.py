#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Job files: schema, manual and code know the same; mistakes are named by their place."""

import json
import os
import re
import sys

from dvmtest import check, contains, dvm, equal, functions, place, run_tests

SOURCE = os.environ["DVM_SOURCE_DIR"]

TYPES = {
    "s": {"type": "string"},
    "u": {"type": "integer"},
    "i": {"type": "integer"},
    "b": {"type": "boolean"},
    "as": {"type": "array"},
    "ay": {"type": "array"},
    "aay": {"type": "array"},
    "a{ss}": {"type": "object"},
}


def read(*path):
    with open(os.path.join(SOURCE, *path)) as file:
        return file.read()


def code_keys(table):
    text = read("libdvm-gobject", "dvm-spec-keys.c").partition(f"DvmSpecKey {table}[]")[2].partition("};")[0]
    return dict(re.findall(r'\{ "([a-z-]+)", "([^"]+)"', text))


def schema():
    return json.loads(read("data", "dvm-job.schema.json"))


def test_schema_and_code():
    """schema and manual have the members that the code has, with their types"""
    whole = schema()
    app = whole["$defs"]["app"]["properties"]
    job = dict(whole["properties"])
    # What a job and a program both have is two members.
    for name in set(app) - set(code_keys("job_keys")):
        equal(job.pop(name), {"$ref": "#/$defs/app/properties/" + name}, "a member of the only program")
    equal(job.pop("apps")["type"], "array")
    for known, described in ((code_keys("app_keys"), app), (code_keys("job_keys"), job)):
        check(known, "the code has keys")
        equal(set(described), set(known))
        for name, signature in known.items():
            equal({"type": described[name]["type"]}, TYPES[signature], name)
            check(described[name]["description"].endswith("."), name)
    page = read("cli", "man", "dvm-job-file.5").replace("\\-", "-")
    named = set(re.findall(r"\\fB([a-z-]+)\\fR", " ".join(re.findall(r"^\.TP\n(.*)$", page, re.MULTILINE))))
    equal(named, set(app) | set(job) | {"apps"}, "the manual")


def test_schema_is_followed():
    """every member with a value of the wrong type is refused at its place"""
    wrong = {"string": 7, "integer": "x", "boolean": 1, "array": {}, "object": []}
    with place() as here:
        for name, described in schema()["$defs"]["app"]["properties"].items():
            bad = {"apps": [{"argv": ["true"], name: wrong[described["type"]]}]}
            result = here.cli("submit", "--file", "-", stdin=json.dumps(bad))
            check(result.returncode in (1, 2), name)
            contains(result.stderr, f"$.apps[0].{name}: ", name)
        for name, described in schema()["properties"].items():
            if "$ref" in described or name == "apps":
                continue
            result = here.cli("submit", "--file", "-", stdin=json.dumps({"argv": ["true"], name: wrong[described["type"]]}))
            contains(result.stderr, f"$.{name}: ", name)


def test_mistakes():
    """wrong, unknown and missing members are named by their JSON path, wrong JSON by its line"""
    with place() as here:
        for text, mention in (
            ('{"apps": [{"argv": ["a"], "np": 0}]}', "$.apps[0].np"),
            ('{"apps": [{"argv": ["a"]}, {"argv": ["b"], "np": -1}]}', "$.apps[1].np"),
            ('{"apps": [{"argv": ["a"], "nq": 1}]}', "$.apps[0].nq"),
            ('{"apps": [{"np": 1}]}', "$.apps[0]"),
            ('{"apps": [{"argv": [1]}]}', "$.apps[0].argv[0]"),
            ('{"apps": []}', "$.apps"),
            ("{}", "argv"),
            ('{"argv": ["a"], "tiemout": 3}', "did you mean “timeout”?"),
            ('{"argv": ["a"], "env": {"A": 1}}', "$.env.A"),
            ("[]", "$: "),
            ("", "$"),
            ('{"argv": ["a"],\n\n"np" 3}', "standard input: line 3"),
            ("{ // no\n}", "comments"),
            ("\udcff", "UTF-8"),
            ("[" * 100000, "nested too deeply"),
        ):
            result = here.cli("submit", "--file", "-", stdin=text.encode(errors="surrogateescape"), text=False)
            equal(result.returncode, 2, f"{text[:60]}: {result.stderr}")
            contains(result.stderr.decode(), mention, text[:60])
        result = here.cli("submit", "--file", here.path + "/none.json")
        contains(result.stderr, "none.json")
        equal(here.cli("submit", "--file", "x", "true").returncode, 2)
        equal(here.cli("run", "--file", "x", "true").returncode, 2)
        for words in (("-n", "1"), ("--host", "n1"), ("--wdir", "/"), ("--preload-binary",), ("--pset", "a")):
            result = here.cli("run", "--file", "x", *words)
            equal(result.returncode, 2, words)
            contains(result.stderr, "is of a program, and the programs are those of --file x")
        result = here.cli("run", "--file", here.path)
        check(result.returncode == 125 and here.path in result.stderr, result.stderr)


def test_words_of_mappers():
    """a word that the mappers of the DVM alone know is named by its place in the file, by an option where it stands there"""
    two = '"apps": [{"argv": ["true"], "np": 1%s}, {"argv": ["true"], "np": 1%s}]}'
    with dvm("--slots=2") as here:
        for text, mention in (
            ('{"argv": ["true"], "map-by": "foo"}', "standard input: $.map-by: unknown word “foo”"),
            ('{"apps": [{"argv": ["true"], "map-by": "foo"}]}', "standard input: $.apps[0].map-by: unknown word “foo”"),
            ('{"map-by": "foo", ' + two % ("", ""), "standard input: $.map-by: unknown word “foo”"),
            ('{"map-by": "core", ' + two % ("", ', "map-by": "foo"'), "standard input: $.apps[1].map-by: unknown word “foo”"),
            ('{"map-by": "foo", ' + two % ("", ', "map-by": "core"'), "standard input: $.map-by: unknown word “foo”"),
            ('{"argv": ["true"], "map-by": "slot=3"}', "standard input: $.map-by: "),
            ('{"argv": ["true"], "bind-to": "foo"}', "standard input: $.bind-to: unknown word “foo”"),
            ('{"argv": ["true"], "rank-by": "foo"}', "standard input: $.rank-by: unknown word “foo”"),
        ):
            for verb in ("submit", "run"):
                result = here.cli(verb, "--file", "-", stdin=text)
                equal(result.returncode, 2, f"{text}: {result.stderr}")
                contains(result.stderr, mention, text)
        result = here.cli("run", "--file", "-", "--map-by", "foo", stdin='{"argv": ["true"]}')
        equal((result.returncode, result.stderr.startswith("dvm-cli: map-by: unknown word “foo”")), (2, True), result.stderr)
        result = here.cli("run", "-n", "1", "--map-by", "core", "true", ":", "-n", "1", "--map-by", "foo", "true")
        equal((result.returncode, result.stderr.startswith("dvm-cli: apps[1]: map-by: unknown word")), (2, True), result.stderr)


def test_jobs():
    """a job file is run; what it does not say comes from the caller, and options win"""
    job = {"personality": "plain", "apps": [{"argv": ["sh", "-c", "echo $ONE $TWO; pwd; exit 3"], "np": 1, "env": {"ONE": "file"}}]}
    with dvm("--slots=2") as here:
        result = here.cli("run", "--file", "-", stdin=json.dumps(job), env={"ONE": "caller", "TWO": "caller"}, cwd=here.path)
        equal((result.returncode, result.stdout), (3, f"file caller\n{here.path}\n"), result.stderr)
        path = os.path.join(here.path, "job.json")
        with open(path, "w") as file:
            json.dump({**job, "name": "of the file"}, file)
        name = here.cli("submit", "--file", path, "--job-name", "of the line").stdout.strip()
        equal(here.cli("wait", name).returncode, 3)
        equal(here.json("job", "show", name)["name"], "of the line")


if __name__ == "__main__":
    sys.exit(run_tests(functions(globals())))
