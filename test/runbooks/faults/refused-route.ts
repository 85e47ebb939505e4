import {
  conditionOf,
  deployed,
  labelsOf,
  NAMESPACE,
  newName,
  removed,
  variablesOf,
} from '../agents.ts';
import type { Fault } from '../fault.ts';
import { installed } from '../platform.ts';

const HOST = 'help.example.com';
const NONE = { kind: 'None', host: '', className: '', former: ['Ingress'] };
const BY_INGRESS = {
  kind: 'Ingress',
  host: '{name}.{namespace}.agents.example.com',
  className: 'of-nobody',
  former: [],
};

export const refusedRoute: Fault = {
  name: 'a route whose host nobody has allowed',
  plant: async (scene) => {
    const { kubectl } = scene;
    const name = newName('routed');
    await installed(scene, { settings: { route: BY_INGRESS } });
    await deployed(scene, name, { route: { hosts: [HOST] } });
    return {
      labels: labelsOf(name),
      isSeen: async () => (await conditionOf(scene, name, 'Routed'))?.reason === 'HostNotAllowed',
      variables: { ...variablesOf(name), LISTENER: 'default', HOSTS: JSON.stringify([HOST]) },
      isCured: async () =>
        (
          await kubectl(
            'get',
            'ingress',
            '-n',
            NAMESPACE,
            '-l',
            `gx.dev/deployment=${name}`,
            '-o',
            'yaml',
          )
        ).includes(`host: ${HOST}`),
      remove: async () => {
        await removed(scene, name);
        await kubectl(
          'patch',
          'gxl',
          'default',
          '-n',
          'gx-system',
          '--type=merge',
          '-p',
          '{"spec":{"hosts":null}}',
        );
        await installed(scene, { settings: { route: NONE } });
      },
    };
  },
  found: { alert: 'GxRouteRefused', seconds: 60 },
  page: { file: 'route-refused.md', entry: '`HostNotAllowed`' },
  cured: { seconds: 60 },
};
