import { afterAll, beforeAll, expect, test } from 'vitest';
import { startModels, type ModelStandIn } from './model-stand-in.ts';
import { expectedSight } from './expected.ts';
import { seeDev } from './shelf.ts';
import { SHELF } from './table.ts';

/* Each project of the shelf, unchanged: cloned, installed by its own lock file, and served by `gx dev`. */

let models: ModelStandIn;

beforeAll(async () => {
  models = await startModels();
});
afterAll(() => models.stop());

test.each(Object.entries(SHELF).map(([name, project]) => ({ name, project })))(
  '$name: $project.kinds',
  async ({ name, project }) => {
    expect(await seeDev(name, models.env)).toMatchObject(expectedSight(project, project.refusal));
  },
);
