/* A stand-in for the CUDA driver: as much of libcuda.so.1 as UCX's cuda_copy transport and the tests' CuPy double use.

   Device memory is mapped twice. Programs are given the view that the CPU may not touch (PROT_NONE); the driver itself
   copies through a second one, a fixed distance away. So whoever reads or writes device memory other than by a call of
   the driver dies of SIGSEGV. Addresses are never used twice, and a copy that leaves its allocation is an error.

   Everything is complete when its call returns, so streams and events are empty handles.
   STANDIN_DEVICES is how many devices the machine has (default 1); CUDA_VISIBLE_DEVICES chooses, by numbers. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, NO_DEVICE = 100, INVALID_DEVICE, INVALID_CONTEXT = 201,
       NOT_FOUND = 500, NOT_SUPPORTED = 801 };
enum { MOST_DEVICES = 16, MOST_ALLOCATIONS = 4096, MOST_CONTEXTS = 64, VERSION = 13000 };
static const size_t DEVICE_BYTES = (size_t)64 << 30, GRAIN = 512; /* sparse: only what is written takes memory */

typedef int Result;
typedef int Device;
typedef uint64_t Pointer;
typedef struct { int physical; } *Context; /* the primary context of a device: the only ones there are */
typedef struct { Pointer base; size_t size; Device device; } Allocation;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int started, devices;
static struct { int physical; } contexts[MOST_DEVICES]; /* by ordinal */
static Pointer arena, unused;
static ptrdiff_t shadow; /* from the view of the programs to that of the driver */
static Allocation allocations[MOST_ALLOCATIONS];
static int allocated;
static __thread Context current[MOST_CONTEXTS];
static __thread int depth;

/* Devices */

static Result start(void) {
    const char *text = getenv("STANDIN_DEVICES"), *visible = getenv("CUDA_VISIBLE_DEVICES");
    int physical = text ? atoi(text) : 1, number, length;
    if (!visible)
        for (; devices < physical && devices < MOST_DEVICES; devices++) contexts[devices].physical = devices;
    while (visible && devices < MOST_DEVICES && sscanf(visible, "%d%n", &number, &length) == 1) {
        if (number < 0 || number >= physical) break; /* as CUDA: what follows an invalid number is not visible */
        contexts[devices++].physical = number;
        visible += length + (visible[length] == ',');
    }
    int memory = memfd_create("device memory", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, DEVICE_BYTES)) return OUT_OF_MEMORY;
    char *view = mmap(NULL, DEVICE_BYTES, PROT_NONE, MAP_SHARED | MAP_NORESERVE, memory, 0);
    char *own = mmap(NULL, DEVICE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory, 0);
    close(memory);
    if (view == MAP_FAILED || own == MAP_FAILED) return OUT_OF_MEMORY;
    arena = unused = (Pointer)view;
    shadow = own - view;
    started = 1;
    return SUCCESS;
}

Result cuInit(unsigned flags) {
    (void)flags;
    pthread_mutex_lock(&lock);
    Result result = started ? SUCCESS : start();
    pthread_mutex_unlock(&lock);
    return result ? result : devices ? SUCCESS : NO_DEVICE;
}

Result cuDriverGetVersion(int *version) { return *version = VERSION, SUCCESS; }
Result cuDeviceGetCount(int *count) { return *count = devices, started ? SUCCESS : NOT_INITIALIZED; }
Result cuDeviceGet(Device *device, int ordinal) {
    return *device = ordinal, ordinal >= 0 && ordinal < devices ? SUCCESS : INVALID_DEVICE;
}
Result cuDeviceGetName(char *name, int length, Device device) {
    return snprintf(name, length, "Stand-in GPU %d", contexts[device].physical), SUCCESS;
}
Result cuDeviceGetUuid_v2(char uuid[16], Device device) {
    return memcpy(uuid, "stand-in GPU no.", 16), uuid[15] = 1 + contexts[device].physical, SUCCESS;
}
Result cuDeviceTotalMem_v2(size_t *bytes, Device device) { return (void)device, *bytes = DEVICE_BYTES, SUCCESS; }
Result cuDeviceGetAttribute(int *value, int attribute, Device device) {
    enum { PCI_BUS_ID = 33, UNIFIED_ADDRESSING = 41, COMPUTE_CAPABILITY_MAJOR = 75 };
    *value = attribute == PCI_BUS_ID                 ? 0x40 + contexts[device].physical
             : attribute == UNIFIED_ADDRESSING       ? 1
             : attribute == COMPUTE_CAPABILITY_MAJOR ? 9
                                                     : 0;
    return SUCCESS;
}

/* Contexts: each thread has a stack of them */

Result cuDevicePrimaryCtxRetain(Context *context, Device device) {
    return *context = (Context)&contexts[device], device < devices ? SUCCESS : INVALID_DEVICE;
}
Result cuDevicePrimaryCtxRelease_v2(Device device) { return (void)device, SUCCESS; }
Result cuDevicePrimaryCtxGetState(Device device, unsigned *flags, int *active) {
    return (void)device, *flags = 0, *active = 1, SUCCESS;
}
Result cuCtxGetCurrent(Context *context) { return *context = depth ? current[depth - 1] : NULL, SUCCESS; }
Result cuCtxSetCurrent(Context context) { return current[depth ? depth - 1 : depth++] = context, SUCCESS; }
Result cuCtxPushCurrent_v2(Context context) {
    return depth < MOST_CONTEXTS ? current[depth++] = context, SUCCESS : INVALID_CONTEXT;
}
Result cuCtxPopCurrent_v2(Context *context) {
    if (!depth) return INVALID_CONTEXT;
    Context popped = current[--depth];
    if (context) *context = popped;
    return SUCCESS;
}
static int ordinal(Context context) { return (int)((char *)context - (char *)contexts) / (int)sizeof *contexts; }
Result cuCtxGetDevice(Device *device) {
    return depth && current[depth - 1] ? *device = ordinal(current[depth - 1]), SUCCESS : INVALID_CONTEXT;
}
Result cuCtxGetId(Context context, unsigned long long *id) { return *id = 1 + ordinal(context), SUCCESS; }
Result cuCtxSetFlags(unsigned flags) { return (void)flags, SUCCESS; }

/* Memory */

static int in_arena(Pointer address) { return started && address - arena < DEVICE_BYTES; }

static Allocation *find(Pointer address, size_t size) {
    for (Allocation *each = allocations; each < allocations + allocated; each++)
        if (address - each->base < each->size && size <= each->size - (address - each->base)) return each;
    return NULL;
}

/* Sets *place to where the driver reaches [address, address + size). */
static Result reach(Pointer address, size_t size, void **place) {
    pthread_mutex_lock(&lock);
    int valid = !size || !in_arena(address) || find(address, size);
    pthread_mutex_unlock(&lock);
    *place = (char *)address + (in_arena(address) ? shadow : 0);
    return valid ? SUCCESS : INVALID_VALUE;
}

Result cuMemAlloc_v2(Pointer *address, size_t size) {
    Device device;
    if (!size) return INVALID_VALUE;
    if (cuCtxGetDevice(&device)) return INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    int fits = allocated < MOST_ALLOCATIONS && size <= arena + DEVICE_BYTES - GRAIN - unused;
    if (fits) {
        allocations[allocated++] = (Allocation){*address = unused, size, device};
        unused += (size + GRAIN - 1) / GRAIN * GRAIN;
    }
    pthread_mutex_unlock(&lock);
    return fits ? SUCCESS : OUT_OF_MEMORY;
}

Result cuMemFree_v2(Pointer address) {
    pthread_mutex_lock(&lock);
    Allocation *each = find(address, 1);
    int valid = each && each->base == address;
    if (valid) *each = allocations[--allocated];
    pthread_mutex_unlock(&lock);
    return valid ? SUCCESS : INVALID_VALUE;
}

Result cuMemcpy(Pointer out, Pointer source, size_t size) {
    void *to, *from;
    if (reach(out, size, &to) || reach(source, size, &from)) return INVALID_VALUE;
    return memmove(to, from, size), SUCCESS;
}
Result cuMemcpyAsync(Pointer out, Pointer source, size_t size, void *stream) {
    return (void)stream, cuMemcpy(out, source, size);
}
Result cuMemcpyDtoDAsync_v2(Pointer out, Pointer source, size_t size, void *stream) {
    return (void)stream, cuMemcpy(out, source, size);
}
Result cuMemcpyHtoD_v2(Pointer out, const void *source, size_t size) { return cuMemcpy(out, (Pointer)source, size); }
Result cuMemsetD8_v2(Pointer out, unsigned char value, size_t size) {
    void *to;
    return reach(out, size, &to) ? INVALID_VALUE : (memset(to, value, size), SUCCESS);
}

Result cuMemGetAddressRange_v2(Pointer *base, size_t *size, Pointer address) {
    pthread_mutex_lock(&lock);
    Allocation *each = find(address, 1);
    if (each && base) *base = each->base;
    if (each && size) *size = each->size;
    pthread_mutex_unlock(&lock);
    return each ? SUCCESS : NOT_FOUND;
}

/* For memory that is not the driver's every attribute is 0, and that is no error. */
Result cuPointerGetAttributes(unsigned count, const int *attributes, void **values, Pointer address) {
    enum { CONTEXT = 1, MEMORY_TYPE = 2, IS_MANAGED = 8, DEVICE_ORDINAL = 9, DEVICE_MEMORY = 2 };
    pthread_mutex_lock(&lock);
    Allocation *each = find(address, 1);
    for (unsigned i = 0; i < count; i++) {
        if (attributes[i] == CONTEXT) *(void **)values[i] = each ? &contexts[each->device] : NULL;
        if (attributes[i] == MEMORY_TYPE) *(unsigned *)values[i] = each ? DEVICE_MEMORY : 0;
        if (attributes[i] == IS_MANAGED) *(unsigned *)values[i] = 0;
        if (attributes[i] == DEVICE_ORDINAL) *(int *)values[i] = each ? each->device : -2;
    }
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}
Result cuPointerGetAttribute(void *value, int attribute, Pointer address) {
    Result result = cuPointerGetAttributes(1, &attribute, &value, address);
    return find(address, 1) ? result : INVALID_VALUE;
}
Result cuPointerSetAttribute(const void *value, int attribute, Pointer address) {
    return (void)value, (void)attribute, find(address, 1) ? SUCCESS : INVALID_VALUE;
}
Result cuMemHostRegister_v2(void *p, size_t size, unsigned flags) { return (void)p, (void)size, (void)flags, SUCCESS; }
Result cuMemHostUnregister(void *p) { return (void)p, SUCCESS; }

/* Streams and events */

static int handle;
Result cuStreamCreate(void **stream, unsigned flags) { return (void)flags, *stream = &handle, SUCCESS; }
Result cuStreamSynchronize(void *stream) { return (void)stream, SUCCESS; }
Result cuStreamDestroy_v2(void *stream) { return (void)stream, SUCCESS; }
Result cuStreamAddCallback(void *stream, void (*call)(void *, Result, void *), void *data, unsigned flags) {
    return (void)flags, call(stream, SUCCESS, data), SUCCESS;
}
Result cuEventCreate(void **event, unsigned flags) { return (void)flags, *event = &handle, SUCCESS; }
Result cuEventRecord(void *event, void *stream) { return (void)event, (void)stream, SUCCESS; }
Result cuEventQuery(void *event) { return (void)event, SUCCESS; }
Result cuEventDestroy_v2(void *event) { return (void)event, SUCCESS; }

/* The rest */

Result cuGetErrorString(Result result, const char **text) {
    return *text = result ? "an error of the stand-in driver" : "no error", SUCCESS;
}
const char *nvmlErrorString(int result) { return (void)result, "the stand-in driver has no NVML"; }
Result cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
    char second[64];
    (void)version, (void)flags;
    snprintf(second, sizeof second, "%s_v2", name);
    if (!(*function = dlsym(RTLD_DEFAULT, second))) *function = dlsym(RTLD_DEFAULT, name);
    if (status) *status = *function ? 0 : 1;
    return *function ? SUCCESS : NOT_FOUND;
}

#define REFUSED(name) Result name(void) { return NOT_SUPPORTED; }
REFUSED(cuMemRetainAllocationHandle)
REFUSED(cuMemRangeGetAttribute)
REFUSED(cuMemAllocManaged)
REFUSED(cuMemCreate)
REFUSED(cuMemGetAllocationGranularity)
REFUSED(cuIpcGetMemHandle)
REFUSED(cuIpcOpenMemHandle_v2)
