// at: src/agent/planted/right/three.ts
// rule: folder-circle
import type { Four } from '../left/four.ts';

export type Three = { four: Four };
