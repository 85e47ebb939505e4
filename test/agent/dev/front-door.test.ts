import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import {
  openFirstFreeDoor,
  openFrontDoor,
  listUsualPorts,
  type FrontDoor,
} from '../../../src/agent/dev/front-door.ts';
import { StartError } from '../../../src/errors.ts';
import { until } from '../../kit/until.ts';

describe('the port that stays open', () => {
  const servers: Server[] = [];
  let door: FrontDoor;
  afterEach(async () => {
    await door.stop();
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  const serve = async (text: string, left: () => void = () => undefined): Promise<number> => {
    const server = createServer((request, response) => {
      request.socket.once('close', left);
      response.write(text);
      if (request.url !== '/stream') response.end();
    });
    servers.push(server.listen(0, '127.0.0.1'));
    await once(server, 'listening');
    return (server.address() as { port: number }).port;
  };
  const ask = async (): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${door.port}/`, {
      headers: { connection: 'close' },
    });
    return answer.text();
  };

  test('a request that comes before there is a server is answered once there is one', async () => {
    door = await openFrontDoor({ host: '127.0.0.1', port: 0 });
    const early = ask();
    door.lead(await serve('first'));
    expect(await early).toBe('first');
  });

  test('new connections go to the new server, an open stream stays with the old one', async () => {
    door = await openFrontDoor({ host: '127.0.0.1', port: 0 });
    door.lead(await serve('old'));
    const leaving = new AbortController();
    const stream = await fetch(`http://127.0.0.1:${door.port}/stream`, { signal: leaving.signal });
    door.lead(await serve('new'));
    expect(await ask()).toBe('new');
    const piece = await stream.body?.getReader().read();
    expect(Buffer.from(piece?.value ?? []).toString()).toBe('old');
    leaving.abort();
  });

  test('a client that leaves is noticed behind the door', async () => {
    door = await openFrontDoor({ host: '127.0.0.1', port: 0 });
    let gone = false;
    door.lead(await serve('on and on', () => (gone = true)));
    const leaving = new AbortController();
    await fetch(`http://127.0.0.1:${door.port}/stream`, { signal: leaving.signal });
    leaving.abort();
    expect(await until('the server noticed', async () => gone, 5)).toBe(true);
  });

  test('a taken port is refused with a sentence', async () => {
    door = await openFrontDoor({ host: '127.0.0.1', port: 0 });
    await expect(openFrontDoor({ host: '127.0.0.1', port: door.port })).rejects.toThrow(StartError);
  });

  test('where one port is taken, the next one of the list is opened', async () => {
    door = await openFrontDoor({ host: '127.0.0.1', port: 0 });
    const next = await openFirstFreeDoor('127.0.0.1', [door.port, 0]);
    await next.stop();
    expect(next.port).not.toBe(door.port);
    await expect(openFirstFreeDoor('127.0.0.1', [door.port])).rejects.toThrow(`Port ${door.port}`);
  });

  test('an address that is not of this machine is refused at once', async () => {
    door = await openFrontDoor({ host: '127.0.0.1', port: 0 });
    await expect(openFirstFreeDoor('192.0.2.1', [0, 0])).rejects.toThrow("Can't listen");
  });

  test('the usual port comes first, any free one last', () =>
    expect(listUsualPorts()).toMatchObject({ 0: 2024, 10: 0 }));
});
