import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildGeneratedFiles } from './generate/files.ts';
import { DevError } from './errors.ts';
import { runMain, printLine } from './steps.ts';

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
const resolveInRoot = (path: string): string => join(root, path);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { check: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help === true) return printLine(HELP);
  const files = buildGeneratedFiles();
  const changed = Object.entries(files).filter(
    ([path, text]) =>
      !existsSync(resolveInRoot(path)) || readFileSync(resolveInRoot(path), 'utf8') !== text,
  );
  const leftOver = WHOLE_FOLDERS.flatMap(listFiles).filter(
    (path) => files[path] === undefined && !HAND_WRITTEN.includes(path),
  );
  if (values.check === true) return check([...changed.map(([path]) => path), ...leftOver]);
  for (const [path, text] of changed) {
    mkdirSync(dirname(resolveInRoot(path)), { recursive: true });
    writeFileSync(resolveInRoot(path), text);
    printLine(`wrote ${path}`);
  }
  for (const path of leftOver) {
    rmSync(resolveInRoot(path));
    printLine(`removed ${path}`);
  }
  printLine(
    `${Object.keys(files).length} generated files, ${changed.length} written, ${leftOver.length} removed`,
  );
}

function check(stale: string[]): void {
  if (stale.length > 0)
    throw new DevError(
      `Not as the sources say; run make generate:\n${stale.map((path) => `  ${path}`).join('\n')}`,
    );
  printLine('all generated files are fresh');
}

function listFiles(folder: string): string[] {
  return existsSync(resolveInRoot(folder))
    ? readdirSync(resolveInRoot(folder), { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => `${folder}/${name}`)
    : [];
}

await runMain(main);
