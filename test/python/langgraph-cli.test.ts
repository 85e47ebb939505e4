import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { LANGGRAPH_KEYS } from '../docs/langgraph-keys.ts';
import { installLanggraphCli, langgraphCli } from '../kit/langgraph-cli.ts';

/* The keys of langgraph.json are those of the vendor's CLI. */

beforeAll(() => installLanggraphCli(), 180_000);

/** Prints each field of the file's types by its path; `ui_config` is read without a type. */
const FIELDS = `
import typing
from langgraph_cli import config, schemas

def parts(kind):
    kinds = [kind, *typing.get_args(kind)]
    return next((each for each in kinds if typing.is_typeddict(each)), None)

def walk(kind, before):
    for name, field in typing.get_type_hints(kind).items():
        inner = parts(field) if name != "graphs" else None
        if inner is None:
            print(before + name)
        else:
            walk(inner, before + name + ".")

walk(schemas.Config, "")
legacy = {"project_root", "package"}
for name in config._KNOWN_CONFIG_KEYS - legacy - set(typing.get_type_hints(schemas.Config)):
    print(name)
`;

test('the table of langgraph.json has each key that the CLI knows, and no others', async () => {
  const { stdout } = await promisify(execFile)(langgraphCli.python, ['-c', FIELDS]);
  expect(stdout.trim().split('\n').toSorted()).toEqual(Object.keys(LANGGRAPH_KEYS).toSorted());
});
