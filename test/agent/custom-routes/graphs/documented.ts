import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi';

/* Routes that describe and check themselves. */

const Team = z.object({ name: z.string().min(2), size: z.number().int() }).openapi('Team');

const makeTeam = createRoute({
  method: 'post',
  path: '/teams/{place}',
  operationId: 'make_team',
  request: {
    params: z.object({ place: z.string().length(2) }),
    body: { required: true, content: { 'application/json': { schema: Team } } },
  },
  responses: {
    201: { description: 'The team.', content: { 'application/json': { schema: Team } } },
  },
});

export const app = new OpenAPIHono().openapi(makeTeam, (c) =>
  c.json({ ...c.req.valid('json'), size: 3 }, 201),
);
