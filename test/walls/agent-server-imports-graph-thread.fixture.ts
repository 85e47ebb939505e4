// at: src/agent/runs/planted.ts
// rule: doors
import { invoke } from '../graph-thread/invoke.ts';
export const planted = invoke;
