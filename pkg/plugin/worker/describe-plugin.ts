import { decodeJson, isStatusError } from '#pkg/apimachinery/index';
import type { CustomResourceDefinition } from '#pkg/apis/index';
import { checkControllers } from '#pkg/runtime/index';
import type { PluginDefinition } from '../definition/define-plugin.ts';
import { findEndpointConflicts } from '../endpoint/find-endpoint-conflicts.ts';
import type { PluginDescription } from './control-message.ts';
import { describeEndpoint } from './endpoint/describe-endpoint.ts';

/** Characters of JSON. */
const maxLength = 8 << 20;
/** Of the endpoints, in bytes: they are part of the Plugin's status, which has room for 3 MiB of everything. */
const maxEndpointBytes = 1.5 * 2 ** 20;

/**
 * What a plugin is made of, as data. @throws TypeError for models that are no data, for controllers and endpoints that
 * cannot be or clash, and for endpoints that cannot be stored
 */
export function describePlugin(
  plugin: string,
  { models, controllers, endpoints }: PluginDefinition,
): PluginDescription {
  checkControllers(controllers);
  const description: PluginDescription = {
    models: models.map(({ definition }) => JSON.parse(JSON.stringify(definition)) as CustomResourceDefinition),
    controllers: controllers.map(({ name }) => name),
    endpoints: endpoints.map(describeEndpoint),
  };
  const conflicts = findEndpointConflicts({ plugin, endpoints: description.endpoints }, []);
  if (conflicts.length > 0)
    throw new TypeError(
      conflicts
        .slice(0, 10)
        .map(({ message }) => message)
        .join('; '),
    );
  if (JSON.stringify(description).length > maxLength)
    throw new TypeError(`the plugin's models and endpoints are more than ${maxLength} characters of JSON`);
  checkStorable(description);
  return description;
}

/**
 * By the rules of the API for depth, texts and numbers. Models are objects of their own, and the API tells of them
 * itself.
 */
function checkStorable({ endpoints }: PluginDescription): void {
  const bytes = Buffer.from(JSON.stringify({ endpoints }));
  if (bytes.length > maxEndpointBytes)
    throw new TypeError(`the plugin's endpoints are more than ${maxEndpointBytes} bytes of JSON`);
  try {
    decodeJson(bytes);
  } catch (error) {
    throw isStatusError(error) ? new TypeError(`the plugin's endpoints cannot be stored: ${error.message}`) : error;
  }
}
