import { execFileSync } from 'node:child_process';
import process from 'node:process';
import { expect, test } from 'vitest';

const SCRIPT = `
import { registerHooks } from 'node:module';
const asked = [];
registerHooks({ resolve: (name, context, next) => { asked.push(name); return next(name, context); } });
const { mcpFeature } = await import('./src/agent/routes/mcp.ts');
console.log(mcpFeature.flag, asked.filter((name) => name.includes('modelcontextprotocol')).length);
`;

test('a server that nobody asks for tools does not load the package for them', () => {
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', SCRIPT], {
    encoding: 'utf8',
  });
  expect(output.trim()).toBe('mcp 0');
});
