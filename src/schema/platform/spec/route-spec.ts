import { Type } from 'typebox';
import { HOST_NAME, ROUTE_PATH } from './route-place.ts';
import { buildOptionalFields } from '../../types.ts';

const Host = Type.String({ minLength: 1, maxLength: 253, pattern: HOST_NAME });
/** A route has at most so many hosts, as an HTTPRoute does. */
const MOST_HOSTS = 16;

/** The address of a deployment outside of the cluster. */
export const RouteSpec = Type.Object(
  {
    ...buildOptionalFields({
      enabled: Type.Boolean({ description: 'False: it has no route. Default true.' }),
      hosts: Type.Array(Host, {
        minItems: 1,
        maxItems: MOST_HOSTS,
        'x-kubernetes-list-type': 'set',
        description:
          'Its hosts; the Listener of its namespace must name them. Default: the host that follows the pattern of the installation.',
      }),
      path: Type.String({
        maxLength: 256,
        pattern: ROUTE_PATH,
        description: 'Its path. Default: the path that follows the pattern of the installation.',
      }),
    }),
  },
  {
    description:
      'The route from outside, where the installation has routes; a change takes effect at once, without a new revision.',
  },
);

/** The hosts and the path of a route as they are asked of its parents. */
export const RouteStatus = Type.Object(
  {
    hosts: Type.Array(Type.String({ maxLength: 253 }), {
      maxItems: MOST_HOSTS,
      description: 'Hosts that the route may have.',
    }),
    path: Type.String({ maxLength: 512, description: 'The path of the route.' }),
  },
  { description: 'Hosts and path of the route. Unset: there is no route.' },
);
