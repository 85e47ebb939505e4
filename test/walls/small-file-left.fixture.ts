// at: src/agent/planted-small-left.ts
// rule: small-file
import type { PlantedRight } from './planted-small-right.ts';

export type PlantedLeft = { right?: PlantedRight };
