import { expect, test } from 'vitest';
import { expectedSight } from '../../../projects/expected.ts';
import { seeDev } from '../../../projects/shelf.ts';
import { FIRST, SHELF } from '../../../projects/table.ts';

/* The cheapest projects of the shelf, as somebody has them who never heard of gx; `make test-projects` tries all. */

test.each(FIRST)('%s', async (name) => {
  const project = SHELF[name]!;
  expect(await seeDev(name, {})).toMatchObject(expectedSight(project, project.refusal));
});
