// at: src/agent/planted/left/one.ts
// rule: folder-circle
import type { Two } from '../right/two.ts';

export type One = { two: Two };
