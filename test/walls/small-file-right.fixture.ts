// at: src/agent/planted-small-right.ts
// rule: small-file
import type { PlantedLeft } from './planted-small-left.ts';

export type PlantedRight = { left?: PlantedLeft };
