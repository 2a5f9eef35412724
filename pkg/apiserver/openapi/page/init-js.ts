/**
 * The script of the documentation page; plain browser JavaScript. The token stays in this script's memory, and is sent
 * only to this origin. The text has no backticks and backslashes, which would be special in the template literal.
 */
export const initJs = `'use strict';
(function () {
  var select = document.getElementById('document');
  var form = document.getElementById('token-form');
  var field = document.getElementById('token');
  var message = document.getElementById('message');
  var base = new URL('docs/', document.baseURI);
  var token = '';
  var ui;

  function wanted() {
    var name = new URLSearchParams(location.search).get('document');
    return Array.from(select.options).some(function (option) { return option.value === name; }) ? name : 'public';
  }

  function urlOf(name) {
    return new URL('openapi/' + name + '.json', base).href;
  }

  function authorizedToken() {
    var scheme = ui && ui.authSelectors.authorized().get('personalToken');
    return (scheme && scheme.get('value')) || '';
  }

  function show(name) {
    ui.specActions.updateUrl(urlOf(name));
    ui.specActions.download(urlOf(name));
  }

  function authorize() {
    if (token !== '') ui.preauthorizeApiKey('personalToken', token);
  }

  function intercept(request) {
    var bearer = token || authorizedToken();
    if (request.loadSpec && bearer !== '' && new URL(request.url, base).origin === location.origin) request.headers.Authorization = 'Bearer ' + bearer;
    return request;
  }

  function report(response) {
    if (!new URL(response.url, base).pathname.startsWith(new URL('openapi/', base).pathname)) return response;
    if (response.status === 401) message.textContent = token === '' ? 'This document needs a personal token.' : 'The token is not valid.';
    else if (response.status === 403) message.textContent = 'The token does not permit reading this document.';
    else message.textContent = '';
    return response;
  }

  select.value = wanted();
  select.addEventListener('change', function () {
    var url = new URL(location.href);
    url.searchParams.set('document', select.value);
    url.hash = '';
    history.replaceState(null, '', url);
    show(select.value);
  });
  form.addEventListener('submit', function (event) {
    event.preventDefault();
    token = field.value.trim();
    message.textContent = '';
    if (token === '') ui.authActions.logout(['personalToken']);
    show(select.value);
  });

  ui = SwaggerUIBundle({
    url: urlOf(select.value),
    dom_id: '#reference',
    deepLinking: true,
    docExpansion: 'none',
    defaultModelsExpandDepth: 0,
    filter: true,
    validatorUrl: null,
    persistAuthorization: false,
    requestInterceptor: intercept,
    responseInterceptor: report,
    onComplete: authorize,
  });
})();
`;
