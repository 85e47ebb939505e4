// at: src/http/planted.ts
// rule: no-restricted-imports
import { start } from '../agent/start.ts';
export const planted = start;
