/**
 * HTTP without any model: a server that drains, the request context and request info, one filter per concern, bodies
 * and answers, and the interface (EndpointGroup) through which other packages serve their own paths.
 */
export * from './media-type/accept.ts';
export * from './request/bearer-authenticator.ts';
export * from './request/is-same-token.ts';
export { isAddressRange, networkOf, newAddressList, TrustedProxies } from './connection/client-address.ts';
export { forwardedRequestOf, noteForwarded, type ForwardedRequest } from './connection/forwarded-request.ts';
export { authorizationKey, secretKey, type CredentialKey, type CredentialReader } from './request/credential-key.ts';
export * from './endpoint/endpoint-group.ts';
export { ByteBudget, uncountedBytes, type ByteBudgetOptions } from './memory/byte-budget.ts';
export type { BytesObserver, BytesRefusedBy, RequestBytes } from './memory/request-bytes.ts';
export { RepeatedAuthorizationError } from './request/check-request.ts';
export { isCrossSite, isSameSite, type SameSiteOptions } from './request/same-site.ts';
export type * from './request/web-socket-upgrade.ts';
export { isNotModified, parseEntityTags } from './request/entity-tags.ts';
export * from './endpoint/express-handler.ts';
export { getOnly } from './endpoint/get-only.ts';
export * from './endpoint/health.ts';
export { logLevelEndpoint, logLevelPath, setLogLevel } from './endpoint/log-level.ts';
export * from './server/http-server.ts';
export * from './service/service-server.ts';
export { parseContentType, parseMediaType, type MediaType } from './media-type/media-type.ts';
export * from './request/parse-request-info.ts';
export { readBody, type ReadBodyOptions } from './request/read-body.ts';
export { answerPageFile } from './reference-page/answer-page-file.ts';
export { PageFiles, type PageFile, type PageSource } from './reference-page/page-files.ts';
export { referencePageFiles } from './reference-page/reference-page-files.ts';
export type * from './request/request-context.ts';
export type * from './request/request-info.ts';
export { onBegin } from './answer/on-begin.ts';
export { beginAnswer, gzipThresholdBytes, isAnswered, send, sendJson, type AnswerHeaders } from './answer/respond.ts';
export * from './answer/send-stream.ts';
export * from './filters/chain.ts';
export {
  InFlightLimits,
  type Exemption,
  type InFlightObserver,
  type MaxInFlight,
} from './filters/limits/in-flight-limits.ts';
export type { RefusedBy } from './filters/limits/limit-refusal.ts';
export {
  hasLargeBody,
  levelOfBody,
  priorityLevels,
  type LevelReader,
  type PriorityLevel,
} from './filters/limits/priority-level.ts';
export type { Throttle } from './filters/limits/throttle.ts';
export { type CountedWatch, type WatchCounter, type WatchLimits } from './filters/limits/watch-counter.ts';
export { anonymousShare } from './filters/limits/work-slots.ts';
export { VerifiedCredentials } from './filters/limits/verified-credentials.ts';
export * from './filters/with-authentication.ts';
export * from './filters/with-authorization.ts';
export * from './filters/with-cors.ts';
export * from './filters/forbidden-request.ts';
export { withForwardedRequest } from './filters/with-forwarded-request.ts';
export type { ForwardingProof, ProvenRequest } from './forward/forwarding-proof.ts';
export { limitConnecting } from './forward/limit-connecting.ts';
export { ServiceForwarder, type ServiceForwarderOptions } from './forward/service-forwarder.ts';
export { withImpersonation } from './filters/with-impersonation.ts';
export { responseStatus, withLogging } from './filters/with-logging.ts';
export { withMetrics, type WithMetricsOptions } from './filters/with-metrics.ts';
export * from './filters/with-request-id.ts';
export * from './filters/with-security-headers.ts';
export * from './filters/with-scrape-token.ts';
export * from './filters/with-status.ts';
export { withStrictTransport } from './filters/with-strict-transport.ts';
export { withWebSocketOrigin } from './filters/with-web-socket-origin.ts';
export { withThrottle } from './filters/with-throttle.ts';
export * from './filters/with-timeout.ts';
export * from './metrics/register-reading.ts';
export * from './metrics/series-histogram.ts';
export type { AddressCounter } from './connection/connection-limits.ts';
export { policySource } from './connection/policy-source.ts';
export { ServiceUrl } from './connection/service-url.ts';
export { registerByteBudgetMetrics } from './metrics/register-byte-budget-metrics.ts';
export { CertificateFiles } from './tls/certificate-files.ts';
export { readSmallFile } from './tls/read-small-file.ts';
export { CertificateError, ServerCertificate, type KeyPair } from './tls/server-certificate.ts';
export { maxUrlEncoded, parseUrlEncoded } from './request/url-encoded.ts';
