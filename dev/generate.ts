import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { generatedFiles } from './generate/files.ts';
import { DevError } from './errors.ts';
import { program, say } from './steps.ts';

const HELP = `make generate: writes the files that come from src/schema and the access rules.

  --check  write nothing; fail with the names of files that are not as they would be written
`;

/**
 * Folders of generated files. Files that are no longer generated are removed from them, except the hand-written ones.
 */
const WHOLE_FOLDERS = [
  'crds',
  'config/crd',
  'config/rbac',
  'charts/gx-platform/templates/crds',
  'charts/gx-platform/files',
  'docs/openapi',
  'docs/reference',
  'schemas',
];
const HAND_WRITTEN = [
  'config/rbac/kustomization.yaml',
  'docs/reference/agent-server.md',
  'docs/reference/builder.md',
  'docs/reference/configuration-names.md',
  'docs/reference/database.md',
  'docs/reference/gx.md',
  'docs/reference/langgraph-json.md',
  'docs/reference/metrics.md',
  'docs/reference/rest-api.md',
];

const root = join(import.meta.dirname, '..');
const inRoot = (path: string): string => join(root, path);

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } });
  if (values.help === true) return say(HELP);
  const files = generatedFiles();
  const changed = Object.entries(files).filter(([path, text]) => !existsSync(inRoot(path)) || readFileSync(inRoot(path), 'utf8') !== text);
  const leftOver = WHOLE_FOLDERS.flatMap(filesIn).filter((path) => files[path] === undefined && !HAND_WRITTEN.includes(path));
  if (values.check === true) return check([...changed.map(([path]) => path), ...leftOver]);
  for (const [path, text] of changed) {
    mkdirSync(dirname(inRoot(path)), { recursive: true });
    writeFileSync(inRoot(path), text);
    say(`wrote ${path}`);
  }
  for (const path of leftOver) {
    rmSync(inRoot(path));
    say(`removed ${path}`);
  }
  say(`${Object.keys(files).length} generated files, ${changed.length} written, ${leftOver.length} removed`);
}

function check(stale: string[]): void {
  if (stale.length > 0) throw new DevError(`Not as the sources say; run make generate:\n${stale.map((path) => `  ${path}`).join('\n')}`);
  say('all generated files are fresh');
}

function filesIn(folder: string): string[] {
  return existsSync(inRoot(folder)) ? readdirSync(inRoot(folder)).map((name) => `${folder}/${name}`) : [];
}

await program(main);
