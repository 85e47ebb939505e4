// at: src/schema/planted-lots.ts
// rule: pure
import { randomUUID } from 'node:crypto';
export const planted = (): string => randomUUID();
