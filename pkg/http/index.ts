/**
 * HTTP without any model: a server that drains, a request's context and its meaning, filters one concern each,
 * bodies in and answers out, and the port (EndpointGroup) through which other wings serve paths of their own.
 */
export * from './accept.ts';
export * from './bearer-authenticator.ts';
export { isAddressRange, TrustedProxies } from './client-address.ts';
export * from './content-type.ts';
export { secretKey, type CredentialKey, type CredentialReader } from './credential-key.ts';
export * from './endpoint-group.ts';
export { isNotModified, parseEntityTags } from './entity-tags.ts';
export * from './express-handler.ts';
export * from './health.ts';
export * from './http-server.ts';
export { parseMediaType, type MediaType } from './media-type.ts';
export { networkOf } from './network-of.ts';
export * from './parse-request-info.ts';
export { readBody, type ReadBodyOptions } from './read-body.ts';
export { answerPageFile } from './reference-page/answer-page-file.ts';
export { PageFiles, type PageFile, type PageSource } from './reference-page/page-files.ts';
export { referencePageFiles } from './reference-page/reference-page-files.ts';
export type * from './request-context.ts';
export type * from './request-info.ts';
export { beginAnswer, gzipThresholdBytes, isAnswered, send, sendJson, type AnswerHeaders } from './respond.ts';
export * from './send-stream.ts';
export * from './filters/chain.ts';
export { InFlightLimits, type Exemption, type InFlightObserver, type MaxInFlight } from './filters/in-flight-limits.ts';
export type { RefusedBy } from './filters/refusal.ts';
export * from './filters/with-authentication.ts';
export * from './filters/with-authorization.ts';
export * from './filters/with-cors.ts';
export * from './filters/forbidden-request.ts';
export * from './filters/with-impersonation.ts';
export { withLogging } from './filters/with-logging.ts';
export * from './filters/with-metrics.ts';
export * from './filters/with-request-id.ts';
export * from './filters/with-security-headers.ts';
export * from './filters/with-status.ts';
export { withStrictTransport } from './filters/with-strict-transport.ts';
export * from './filters/with-timeout.ts';
export * from './metrics/register-reading.ts';
export * from './metrics/series-histogram.ts';
export { ServiceUrl } from './service-url.ts';
export { showConnections } from './metrics/show-connections.ts';
export { CertificateFiles } from './tls/certificate-files.ts';
export { CertificateError, ServerCertificate, type KeyPair } from './tls/server-certificate.ts';
export { maxUrlEncoded, parseUrlEncoded } from './url-encoded.ts';
