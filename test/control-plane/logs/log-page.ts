import { compareOrder, type Line } from '../../../src/control-plane/logs/best-lines.ts';
import { logPageAnswer, createLogPage } from '../../../src/control-plane/logs/lines.ts';
import type { LogPage, LogQuery } from '../../../src/control-plane/logs/schema.ts';

/** Returns the page that a query gets of these lines. */
export function logPage(lines: Line[], query: LogQuery): LogPage {
  const page = createLogPage(query);
  page.add(lines.toSorted(compareOrder));
  return logPageAnswer(page);
}
