import { decodeJson, isStatusError } from '#pkg/apimachinery/index';
import type { CustomResourceDefinition } from '#pkg/apis/index';
import { checkControllers } from '#pkg/runtime/index';
import type { PluginDefinition } from '../../definition/define-plugin.ts';
import { findEndpointConflicts } from '../../endpoint/find-endpoint-conflicts.ts';
import type { PluginDescription } from '../control-message.ts';
import { describeEndpoint } from './endpoint/describe-endpoint.ts';

/** Limit of the description. Characters of JSON. */
const maxLength = 8 << 20;
/** Limit of the endpoints: they are part of the Plugin's status, which is limited to 3 MiB. Bytes. */
const maxEndpointBytes = 1.5 * 2 ** 20;

/**
 * The parts of a plugin, as data. @throws TypeError for models that are not plain data, for invalid or conflicting
 * controllers and endpoints, and for endpoints that cannot be stored
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
 * Checks the API's limits for depth, texts and numbers. Only endpoints: models are separate objects, and the API
 * validates them itself.
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
