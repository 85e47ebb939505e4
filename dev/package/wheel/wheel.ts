import { createHash } from 'node:crypto';
import { MODULE } from './contents.ts';
import { packZip, type Entry } from './zip.ts';

/* The layout of a wheel, as the packaging standards of Python describe it. */

type Wheel = {
  version: string;
  summary: string;
  /** Files of the module, sorted. */ entries: Entry[];
  licenses: Record<string, string>;
  tag: string;
};

const buildTextEntry = (name: string, content: string): Entry => ({
  name,
  content: Buffer.from(content),
  executable: false,
});

/** The command `gx`, as Python starts it. */
const LAUNCHER = `"""Starts the command gx, with the Node and the server that lie in this package."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    """Becomes gx. Graphs run by this Python unless their project has another one."""
    node = os.path.join(_HERE, "bin", "node")
    environment = {"GX_PYTHON_OF_GX": sys.executable, **os.environ}
    os.execve(node, [node, os.path.join(_HERE, "app", "lib", "gx.js"), *sys.argv[1:]], environment)
`;

/** Returns the Python files that start the command. */
export const buildLauncher = (): Entry[] => [
  buildTextEntry(`${MODULE}/__init__.py`, LAUNCHER),
  buildTextEntry(
    `${MODULE}/__main__.py`,
    `"""python -m ${MODULE} is the command gx."""\n\nfrom ${MODULE} import main\n\nmain()\n`,
  ),
];

const README = `The command gx: write LangGraph agents, and run them on your machine.

    pip install gx-platform
    gx new --python my-agent
    gx dev

Node, the server, Postgres and the runner for graphs in Python are in this package. Nothing else needs to be installed.
`;

function formatMetadata({ version, summary, licenses }: Wheel): string {
  const fields = {
    'Metadata-Version': '2.4',
    Name: 'gx-platform',
    Version: version,
    Summary: summary,
    'License-Expression': 'Apache-2.0',
    'Requires-Python': '>=3.11',
    'Description-Content-Type': 'text/plain',
  };
  const files = Object.keys(licenses).map((name) => `License-File: ${name}`);
  return `${[...Object.entries(fields).map(([name, value]) => `${name}: ${value}`), ...files].join('\n')}\n\n${README}`;
}

const record = (entries: Entry[], name: string): string =>
  [
    ...entries.map(
      (entry) =>
        `${quoteName(entry.name)},sha256=${createHash('sha256').update(entry.content).digest('base64url')},${entry.content.length}`,
    ),
    `${name},,`,
    '',
  ].join('\n');

const quoteName = (name: string): string =>
  /[,"]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;

/** Returns the name of the file, and its bytes, which are the same for the same contents. */
export function packWheel(wheel: Wheel): { name: string; bytes: Buffer } {
  const folder = `${MODULE}-${wheel.version}.dist-info`;
  const tag = `py3-none-${wheel.tag}`;
  const info = [
    buildTextEntry(`${folder}/METADATA`, formatMetadata(wheel)),
    buildTextEntry(
      `${folder}/WHEEL`,
      `Wheel-Version: 1.0\nGenerator: gx-platform\nRoot-Is-Purelib: false\nTag: ${tag}\n`,
    ),
    buildTextEntry(`${folder}/entry_points.txt`, `[console_scripts]\ngx = ${MODULE}:main\n`),
    ...Object.entries(wheel.licenses).map(([name, content]) =>
      buildTextEntry(`${folder}/licenses/${name}`, content),
    ),
  ];
  const all = [...wheel.entries, ...info];
  const name = `${folder}/RECORD`;
  return {
    name: `${MODULE}-${wheel.version}-${tag}.whl`,
    bytes: packZip([...all, buildTextEntry(name, record(all, name))]),
  };
}
