// at: src/http/planted.ts
// rule: directions
import { start } from '../agent/start.ts';
export const planted = start;
