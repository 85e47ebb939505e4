// at: src/console/session/planted.ts
// rule: directions
import type { Caller } from '../../control-plane/caller.ts';
export type Planted = Caller;
