import { readFileSync } from 'node:fs';

/* What the Python server sent for three graphs, as a client saw it. Long lines were cut during the capture. */

export type WireEvent = {
  method: string;
  params: { namespace: string[]; data: Record<string, unknown> };
};

/** Ids of tasks, which differ from run to run. */
const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** An event in one line: its method, its place and its part. Streamed texts come in parts of any size. */
const line = (method: string, namespace: string, part: string | undefined): string =>
  [method, namespace.replaceAll(ID, '*'), part].filter(Boolean).join(' ');

/** Each event of a captured stream in one line. */
export function capturedLines(name: string): string[] {
  const text = readFileSync(new URL(`./wire/${name}.txt`, import.meta.url), 'utf8');
  const HEAD =
    /^S data: .*?"method":"([\w.]+)","params":\{"namespace":(\[.*?\]),"timestamp":\d+,"data":\{(?:"event":"([\w-]+)")?/gm;
  return merged(
    [...text.matchAll(HEAD)].map(([, method, namespace, part]) => line(method!, namespace!, part)),
  );
}

export const lines = (events: WireEvent[]): string[] =>
  merged(
    events.map(({ method, params: { namespace, data } }) =>
      line(method, JSON.stringify(namespace), data['event'] as string | undefined),
    ),
  );

/** The data of the captured events that were not cut, by their lines. */
export function capturedData(name: string, wanted: string): Record<string, unknown>[] {
  const text = readFileSync(new URL(`./wire/${name}.txt`, import.meta.url), 'utf8');
  const whole = [...text.matchAll(/^S data: (\{.*\}\}\})$/gm)].map(
    ([, json]) => JSON.parse(json!) as WireEvent,
  );
  return whole.filter((event) => lines([event])[0] === wanted).map(({ params }) => params.data);
}

const merged = (all: string[]): string[] =>
  all.filter((one, at) => one !== all[at - 1] || !one.endsWith('content-block-delta'));
