import { readOperatorConfig, type OperatorSettings } from '../../src/config/platform/operator.ts';
import { idOf, renderer } from '../charts/render.ts';

/** Returns the settings that an operator gets from the chart with this `settings.route`. */
export async function settingsBy(route: object): Promise<Partial<OperatorSettings>> {
  const objects = await (await renderer()).chart({ settings: { route } });
  const operator = objects.find((object) => idOf(object) === 'Deployment/gx-system/gx-operator');
  const env = operator?.spec?.template?.spec.containers[0]?.env ?? [];
  const given = Object.fromEntries(
    env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
  );
  const { route: settings, formerRoutes, routeProxies } = readOperatorConfig(given).settings;
  if (settings === undefined) throw new Error('the chart gave the operator no routes');
  return { route: settings, formerRoutes, routeProxies };
}
