import { useState } from 'react';
import { resolved, type ModelSchema, type OpenApiSchema } from '../server/open-api-schema.ts';
import { texts } from '../texts/texts.ts';
import { rulesText } from './rules-text.ts';

interface FieldTreeProps {
  schema: OpenApiSchema;
  shared: ModelSchema['shared'];
}

/** The fields of an object; those of a field are there when it is opened, so that a schema may contain itself. */
export function FieldTree({ schema, shared }: FieldTreeProps) {
  const { properties = {}, required = [] } = schema;
  return (
    <ul className="fields">
      {Object.entries(properties).map(([name, field]) => (
        <li key={name}>
          <Field name={name} schema={resolved(field, shared)} shared={shared} isRequired={required.includes(name)} />
        </li>
      ))}
    </ul>
  );
}

function Field({ name, schema, shared, isRequired }: FieldTreeProps & { name: string; isRequired: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const inner = fieldsOf(schema, shared);
  const title = (
    <>
      <code className="field-name">{name}</code> <span className="field-type">{typeText(schema, shared)}</span>
      {isRequired ? <strong> {texts.fields.required}</strong> : undefined}
    </>
  );
  const facts = [rulesText(schema), schema.description].filter((text) => text !== undefined && text !== '');
  return (
    <>
      {inner === undefined ? (
        <p>{title}</p>
      ) : (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{title}</summary>
          {isOpen ? <FieldTree schema={inner} shared={shared} /> : undefined}
        </details>
      )}
      {facts.map((fact) => (
        <p key={fact} className="field-fact">
          {fact}
        </p>
      ))}
    </>
  );
}

/** The schema of the objects in a field: itself, the elements of its list, or the values of its map. */
function fieldsOf(schema: OpenApiSchema, shared: ModelSchema['shared']): OpenApiSchema | undefined {
  if (schema.properties !== undefined) return schema;
  const inner =
    schema.items ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined);
  return inner === undefined ? undefined : fieldsOf(resolved(inner, shared), shared);
}

function typeText(schema: OpenApiSchema, shared: ModelSchema['shared']): string {
  const { fields } = texts;
  if (schema['x-kubernetes-int-or-string'] === true) return fields.intOrString;
  if (schema.items !== undefined) {
    const keys = schema['x-kubernetes-list-map-keys'];
    const element = typeText(resolved(schema.items, shared), shared);
    return keys === undefined ? fields.listOf(element) : fields.keyedListOf(element, keys.join(', '));
  }
  if (typeof schema.additionalProperties === 'object')
    return fields.mapOf(typeText(resolved(schema.additionalProperties, shared), shared));
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return fields.anything;
  return `${schema.type ?? fields.anything}${schema.format === undefined ? '' : ` (${schema.format})`}`;
}
