import { stricterGuard } from '../../schema/platform/revision.ts';
import type { ServerFacts } from '../../schema/wire/work-report.ts';

/**
 * Returns the facts of each revision by what its processes have reported, the oldest report first. Code of a deployment
 * has the key that reports are sent with, so of several reports the strictest counts; of equal ones the last.
 */
export function factsByRevision(reports: readonly ServerFacts[]): Map<string, ServerFacts> {
  const found = new Map<string, ServerFacts>();
  for (const facts of reports) {
    const known = found.get(facts.revision);
    if (stricterGuard(known?.guard, facts.guard) === facts.guard) found.set(facts.revision, facts);
  }
  return found;
}
