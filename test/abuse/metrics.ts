import type { Verdicts } from './report.ts';
import type { WatchedServer } from './watched-server.ts';

/** Asks for the metrics of a server where its users ask it, without a key. */
export async function attackMetrics({ url }: WatchedServer, verdicts: Verdicts): Promise<void> {
  const answer = await fetch(`${url}/metrics`);
  const text = await answer.text();
  verdicts.check(
    `metrics at ${url}`,
    `${answer.status}, ${text.length} characters`,
    answer.status === 404 && !text.includes('# HELP'),
  );
}
