// at: src/agent/graphs/planted.ts
// rule: directions
import { endOfGraph } from '../runs/end.ts';
export const planted = endOfGraph;
