import { isObject, type Json } from '../../schema/json.ts';

/* The part of a graph's state that is state of the page. */

/** Fields of a state that belong to doors. Messages reach the page by events of their own. */
const OF_DOORS: readonly string[] = ['messages', 'tools', 'copilotkit', 'ag-ui'];

export const isPageField = (name: string): boolean => !OF_DOORS.includes(name);

/** Returns the state of the page in the values of a thread; an empty one where the graph has no such state. */
export const readPageState = (values: unknown): Json =>
  isObject(values)
    ? Object.fromEntries(Object.entries(values).filter(([name]) => isPageField(name)))
    : {};
