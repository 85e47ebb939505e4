import { parse } from 'yaml';
import { NO_REGISTRY } from '../images/registry.ts';

/** An image that a chart names: its name in the values, the last word of its repository, and the whole reference. */
export type ChartImage = { value: string; name: string; reference: string };

type Values = { images: { registry: string } & Record<string, unknown> };

/**
 * Returns the images that a chart installs or hands on, from its values.yaml. The publisher chooses the registry,
 * which the chart asks for.
 */
export function listChartImages(valuesYaml: string, version: string): ChartImage[] {
  const { registry, ...images } = (parse(valuesYaml) as Values).images;
  const host = registry === '' ? NO_REGISTRY : registry;
  return Object.entries(images).flatMap(([value, image]) => {
    const { repository } = image as { repository?: string };
    if (repository === undefined) return [];
    return [
      {
        value,
        name: repository.split('/').at(-1) ?? repository,
        reference: `${host}/${repository}:${version}`,
      },
    ];
  });
}
