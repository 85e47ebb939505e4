// at: src/agent/runs/planted-deps.ts
// rule: directions
import type { AgentDeps } from '../deps.ts';
export type Planted = AgentDeps;
