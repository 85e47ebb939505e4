import { afterAll, beforeAll, expect, test } from 'vitest';
import { installLanggraphCli } from '../kit/langgraph-cli.ts';
import { PYTHON_TEMPLATES, TEMPLATE_ENV } from '../kit/python-templates.ts';
import {
  baseImage,
  imageOf,
  inContainer,
  projectOf,
  removeBaseImage,
  removeProject,
} from './containers.ts';

/* The vendor's CLI writes a Dockerfile of each template. Each is built on our image as it is, and its agent answers. */

const TAGS = ['3.11', '3.11-wolfi'];

beforeAll(async () => {
  await installLanggraphCli();
  await baseImage(TAGS);
});
afterAll(() => removeBaseImage(TAGS));

test.each(Object.keys(PYTHON_TEMPLATES))('the template %s', async (name) => {
  const project = await projectOf(name, PYTHON_TEMPLATES[name]!);
  const image = await imageOf(project);
  const answer = await inContainer(image, TEMPLATE_ENV, ({ client }) =>
    client.runs.wait(null, 'agent', { input: { question: 'a minute' } }),
  );
  expect(answer).toMatchObject({ answer: `${name}: a minute` });
  removeProject(project);
});
