import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterEach, expect, test, vi } from 'vitest';
import { loadEmbed } from '../../../src/agent/gx-json/embed.ts';

/* Embeddings that gx.json names by provider and model. */

afterEach(() => vi.unstubAllEnvs());

const load = (embed: string, folder = import.meta.dirname): ReturnType<typeof loadEmbed> => {
  const at = embed.indexOf(':');
  return loadEmbed({
    language: 'javascript',
    embed: { provider: embed.slice(0, at), model: embed.slice(at + 1), folder },
    dims: 2,
    fields: ['$'],
  });
};

test("the provider's model is asked, through the project's package", async () => {
  const asked: unknown[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as { input: string[]; model: string };
    asked.push([request.url, request.headers.authorization, body.model]);
    const data = body.input.map((text, index) => ({
      object: 'embedding',
      index,
      embedding: [text.length, 0],
    }));
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        object: 'list',
        data,
        model: body.model,
        usage: { prompt_tokens: 1, total_tokens: 1 },
      }),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  vi.stubEnv('OPENAI_API_KEY', 'canary');
  vi.stubEnv('OPENAI_BASE_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  const embed = await load('openai:text-embedding-3-small');
  expect(await embed(['red', 'blue'])).toEqual([
    [1, 0],
    [1, 0],
  ]);
  expect(asked).toEqual([['/v1/embeddings', 'Bearer canary', 'text-embedding-3-small']]);
  server.closeAllConnections();
  server.close();
});

test('a package that the project does not have is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gx-embed-'));
  await expect(load('ollama:nomic-embed-text:latest', folder)).rejects.toThrow(
    'store.index.embed: "ollama:nomic-embed-text:latest" needs the package @langchain/ollama, which the project does not have',
  );
  rmSync(folder, { recursive: true });
});

test('an unknown provider is refused with those that are known', async () => {
  await expect(load('nobody:model')).rejects.toThrow(
    /"nobody" is not a provider of embeddings; known: azure_openai, bedrock/,
  );
});
