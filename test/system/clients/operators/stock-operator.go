// An operator as they are written in Go: informers, a work queue, leader election by a Lease, server-side apply,
// events. For each Shop it keeps spec.items ConfigMaps with spec.text, and says so in status.stocked and a condition.
// It ends by SIGTERM: first its workers, then its lease.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
)

const (
	manager   = "stock-operator"
	leaseName = "stock-operator"
	shopLabel = "clients.example.com/shop"
)

var (
	shops      = schema.GroupVersionResource{Group: "clients.example.com", Version: "v1", Resource: "shops"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

	applyOptions = metav1.ApplyOptions{FieldManager: manager, Force: true}
)

type operator struct {
	identity, namespace string
	client              dynamic.Interface
	kube                kubernetes.Interface
	shops, items        cache.GenericLister
	queue               workqueue.TypedRateLimitingInterface[string]
	recorder            record.EventRecorder
}

// logStreamingLists shows that informers get their first state from a watch, and not from a list.
type logStreamingLists struct{ next http.RoundTripper }

func (l logStreamingLists) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	if err == nil && request.URL.Query().Get("sendInitialEvents") == "true" {
		log.Printf("streaming list of %s: %d", path.Base(request.URL.Path), response.StatusCode)
	}
	return response, err
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file with the server and the token")
	identity := flag.String("identity", "", "name of this process in the lease")
	namespace := flag.String("namespace", "default", "namespace of shops and lease")
	workers := flag.Int("workers", 4, "reconciles at the same time")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	config.QPS, config.Burst, config.UserAgent = 200, 400, manager
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return logStreamingLists{next} })
	kube := kubernetes.NewForConfigOrDie(config)
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kube.CoreV1().Events(*namespace)})
	defer broadcaster.Shutdown()
	o := &operator{
		identity: *identity, namespace: *namespace,
		client:   dynamic.NewForConfigOrDie(config),
		kube:     kube,
		queue:    workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
		recorder: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: manager, Host: *identity}),
	}
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	o.watch(ended)
	o.elect(ended, *workers)
}

// watch fills the caches of shops and items, whether this process leads or not.
func (o *operator) watch(ended context.Context) {
	isItem, err := labels.NewRequirement(shopLabel, selection.Exists, nil)
	if err != nil {
		log.Fatal(err)
	}
	ofShops := dynamicinformer.NewFilteredDynamicSharedInformerFactory(o.client, 0, o.namespace, nil)
	selectItems := func(options *metav1.ListOptions) {
		options.LabelSelector = labels.NewSelector().Add(*isItem).String()
	}
	ofItems := dynamicinformer.NewFilteredDynamicSharedInformerFactory(o.client, 0, o.namespace, selectItems)
	o.shops = o.follow(ofShops.ForResource(shops), func(object metav1.Object) string { return object.GetName() })
	o.items = o.follow(ofItems.ForResource(configMaps), func(object metav1.Object) string {
		return object.GetLabels()[shopLabel]
	})
	for _, factory := range []dynamicinformer.DynamicSharedInformerFactory{ofShops, ofItems} {
		factory.Start(ended.Done())
		for resource, synced := range factory.WaitForCacheSync(ended.Done()) {
			log.Printf("synced %s: %v", resource.Resource, synced)
		}
	}
}

func (o *operator) follow(informer informers.GenericInformer, shopOf func(metav1.Object) string) cache.GenericLister {
	add := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		o.queue.Add(shopOf(object.(metav1.Object)))
	}
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, object any) { add(object) }, DeleteFunc: add,
	}); err != nil {
		log.Fatal(err)
	}
	return informer.Lister()
}

// elect runs the workers while this process holds the lease. A lost lease ends the process.
func (o *operator) elect(ended context.Context, workers int) {
	lease, release := context.WithCancel(context.Background())
	defer release()
	var working sync.WaitGroup
	go func() {
		<-ended.Done()
		o.queue.ShutDown()
		working.Wait()
		release()
	}()
	leaderelection.RunOrDie(lease, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: leaseName, Namespace: o.namespace},
			Client:     o.kube.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.identity, EventRecorder: o.recorder},
		},
		LeaseDuration: 4 * time.Second, RenewDeadline: 3 * time.Second, RetryPeriod: 500 * time.Millisecond,
		ReleaseOnCancel: true,
		Name:            leaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				held, err := o.kube.CoordinationV1().Leases(o.namespace).Get(leading, leaseName, metav1.GetOptions{})
				if err != nil {
					log.Fatal(err)
				}
				term := int64(*held.Spec.LeaseTransitions)
				log.Printf("leading, term %d", term)
				for range workers {
					working.Go(func() { o.work(leading, term) })
				}
			},
			OnStoppedLeading: func() { log.Print("not leading") },
			OnNewLeader:      func(identity string) { log.Printf("leader is %s", identity) },
		},
	})
}

func (o *operator) work(leading context.Context, term int64) {
	for {
		name, shutdown := o.queue.Get()
		if shutdown {
			return
		}
		if leading.Err() != nil {
			o.queue.Done(name)
			return
		}
		if err := o.reconcile(leading, name, term); err != nil {
			log.Printf("%s: %v", name, err)
			o.queue.AddRateLimited(name)
		} else {
			o.queue.Forget(name)
		}
		o.queue.Done(name)
	}
}

func (o *operator) reconcile(ctx context.Context, name string, term int64) error {
	object, err := o.shops.ByNamespace(o.namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	shop := object.(*unstructured.Unstructured)
	count, _, err := unstructured.NestedInt64(shop.Object, "spec", "items")
	if err != nil {
		return err
	}
	text, _, err := unstructured.NestedString(shop.Object, "spec", "text")
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for i := range count {
		item := fmt.Sprintf("%s-%d", name, i)
		wanted[item] = true
		if err := o.applyItem(ctx, shop, item, text); err != nil {
			return err
		}
	}
	if err := o.deleteOthers(ctx, shop, wanted); err != nil {
		return err
	}
	return o.applyStatus(ctx, shop, count, term)
}

func (o *operator) applyItem(ctx context.Context, shop *unstructured.Unstructured, name, text string) error {
	object, err := o.items.ByNamespace(o.namespace).Get(name)
	if err == nil {
		stored, _, _ := unstructured.NestedString(object.(*unstructured.Unstructured).Object, "data", "text")
		if stored == text && metav1.IsControlledBy(object.(metav1.Object), shop) {
			return nil
		}
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	item := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"text": text}}}
	item.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	item.SetName(name)
	item.SetLabels(map[string]string{shopLabel: shop.GetName()})
	item.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(shop, shop.GroupVersionKind())})
	_, err = o.client.Resource(configMaps).Namespace(o.namespace).Apply(ctx, name, item, applyOptions)
	return err
}

func (o *operator) deleteOthers(ctx context.Context, shop *unstructured.Unstructured, wanted map[string]bool) error {
	items, err := o.items.ByNamespace(o.namespace).List(labels.SelectorFromSet(labels.Set{shopLabel: shop.GetName()}))
	if err != nil {
		return err
	}
	for _, object := range items {
		item := object.(metav1.Object)
		if wanted[item.GetName()] || !strings.HasPrefix(item.GetName(), shop.GetName()) {
			continue
		}
		uid := item.GetUID()
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
		err := o.client.Resource(configMaps).Namespace(o.namespace).Delete(ctx, item.GetName(), options)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

func (o *operator) applyStatus(ctx context.Context, shop *unstructured.Unstructured, count, term int64) error {
	generation, _, _ := unstructured.NestedInt64(shop.Object, "status", "stocked", "generation")
	if generation == shop.GetGeneration() {
		return nil
	}
	status := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"stocked": map[string]any{"generation": shop.GetGeneration(), "items": count, "by": o.identity, "term": term},
		"conditions": []any{map[string]any{
			"type": "Stocked", "status": "True", "reason": "ItemsApplied", "observedGeneration": shop.GetGeneration(),
			"message": fmt.Sprintf("%d items", count), "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		}},
	}}}
	status.SetGroupVersionKind(shop.GroupVersionKind())
	status.SetName(shop.GetName())
	_, err := o.client.Resource(shops).Namespace(o.namespace).ApplyStatus(ctx, shop.GetName(), status, applyOptions)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		o.recorder.Eventf(shop, corev1.EventTypeNormal, "Stocked", "%d items", count)
	}
	return err
}
