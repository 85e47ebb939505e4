import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import type { GitCredential } from '../../provider.ts';
import { createGitServer } from './server.ts';

const [, , folder = '', account = '', port = ''] = process.argv;
await mkdir(folder, { recursive: true });
createGitServer({
  folder,
  account: JSON.parse(readFileSync(account, 'utf8')) as GitCredential,
}).listen(Number(port), '0.0.0.0');
