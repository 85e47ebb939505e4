// Plain JavaScript for any Node >= 20: it brings the Node that everything else needs.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';

const [major] = process.versions.node.split('.').map(Number);
if (major < 20)
  fail(`Node ${process.versions.node} is too old: install Node 20 or newer (with npm).`);

const MARK = 'node_modules/.installed';
const wanted = createHash('sha256').update(readFileSync('package-lock.json')).digest('hex');
if (!existsSync(MARK) || readFileSync(MARK, 'utf8') !== wanted) install();

function install() {
  const started = performance.now();
  process.stdout.write(
    '==> dependencies\n    npm ci (exact versions of package-lock.json; some minutes the first time)\n',
  );
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (npm.error) fail(`npm can't be started (${npm.error.message}): install it with Node.`);
  if (npm.status !== 0) {
    const { stdout } = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' });
    fail(
      `npm ci failed; its messages are above. Is the registry ${stdout.trim()} reachable from here?`,
    );
  }
  writeFileSync(MARK, wanted);
  process.stdout.write(`    done in ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}
