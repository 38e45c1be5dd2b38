/* Layers of the usual small networks, by the kernels that `serenity emit c` writes and by CMSIS-NN's calls: instructions of each on an emulated Cortex-M4.
 * The emulator's clock goes on by one nanosecond an instruction, and SysTick counts it. Outputs must be equal. */
#include "arm_nnfunctions.h"
#include "kernels.h"

#include <stdio.h>
#include <string.h>

#define MOST (64 * 1024)
static int8_t input[MOST], ours[MOST], theirs[MOST], weights[MOST];
static int16_t scratch[MOST / 2];
static int32_t bias[512], folded[512], multiplier[512], shift[512];
static int8_t shift_bytes[512];

static uint32_t ticks(void)
{
    return 0xFFFFFFu - *(volatile uint32_t *)0xE000E018;
}

struct layer {
    const char *name;
    int32_t is_depthwise, size, in_c, out_c, kernel, stride;
};

static const struct layer layers[] = {
    {"1x1, 24x24x16 to 32", 0, 24, 16, 32, 1, 1},
    {"1x1, 6x6x128 to 128", 0, 6, 128, 128, 1, 1},
    {"3x3, 16x16x16 to 16", 0, 16, 16, 16, 3, 1},
    {"3x3, 48x48x3 to 8, stride 2", 0, 48, 3, 8, 3, 2},
    {"depthwise 3x3, 24x24x32", 1, 24, 32, 32, 3, 1},
    {"depthwise 3x3, 6x6x128", 1, 6, 128, 128, 3, 1},
    {"depthwise 3x3, 24x24x32, stride 2", 1, 24, 32, 32, 3, 2},
    {"depthwise 5x5, 12x12x64", 1, 12, 64, 64, 5, 1},
};

static uint32_t run_ours(const struct layer *l, int32_t out, int32_t pad)
{
    const struct net_conv_s8 conv = {1, l->size, l->size, l->in_c, out, out, l->out_c, l->kernel, l->kernel, l->stride, l->stride, 1, 1, pad, pad, 5, -3, -128, 127, 1, weights, folded, multiplier, shift_bytes};
    const struct net_depthwise_s8 depthwise = {1, l->size, l->size, l->in_c, out, out, 1, l->kernel, l->kernel, l->stride, l->stride, 1, 1, pad, pad, 5, -3, -128, 127, weights, folded, multiplier, shift_bytes};
    const uint32_t from = ticks();
    if (l->is_depthwise) {
        net_depthwise_s8(&depthwise, input, ours);
    } else {
        net_conv_s8(&conv, input, ours);
    }
    return ticks() - from;
}

static uint32_t run_theirs(const struct layer *l, int32_t out, int32_t pad)
{
    const cmsis_nn_context context = {scratch, sizeof scratch};
    const cmsis_nn_per_channel_quant_params quant = {multiplier, shift};
    const cmsis_nn_dims in_dims = {1, l->size, l->size, l->in_c}, out_dims = {1, out, out, l->out_c};
    const cmsis_nn_dims conv_dims = {l->out_c, l->kernel, l->kernel, l->in_c}, depth_dims = {1, l->kernel, l->kernel, l->out_c};
    const cmsis_nn_dims bias_dims = {1, 1, 1, l->out_c};
    const cmsis_nn_conv_params conv = {-5, -3, {l->stride, l->stride}, {pad, pad}, {1, 1}, {-128, 127}};
    const cmsis_nn_dw_conv_params depthwise = {-5, -3, 1, {l->stride, l->stride}, {pad, pad}, {1, 1}, {-128, 127}};
    const uint32_t from = ticks();
    if (l->is_depthwise) {
        arm_depthwise_conv_wrapper_s8(&context, &depthwise, &quant, &in_dims, input, &depth_dims, weights, &bias_dims, bias, &out_dims, theirs);
    } else {
        arm_convolve_wrapper_s8(&context, &conv, &quant, &in_dims, input, &conv_dims, weights, &bias_dims, bias, &out_dims, theirs);
    }
    return ticks() - from;
}

int main(void)
{
    uint32_t seed = 1;
    /* SysTick: the core's clock, from the top. */
    *(volatile uint32_t *)0xE000E014 = 0xFFFFFF;
    *(volatile uint32_t *)0xE000E018 = 0;
    *(volatile uint32_t *)0xE000E010 = 5;
    printf("%-34s %10s %10s %6s\n", "layer", "emitted", "CMSIS-NN", "ratio");
    for (size_t i = 0; i < sizeof layers / sizeof *layers; ++i) {
        const struct layer *l = &layers[i];
        const int32_t out = (l->size + l->stride - 1) / l->stride, pad = (l->kernel - l->stride + 1) / 2 > 0 ? ((out - 1) * l->stride + l->kernel - l->size) / 2 : 0;
        const int32_t taps = l->kernel * l->kernel * (l->is_depthwise ? 1 : l->in_c);
        uint32_t a, b;
        for (int32_t k = 0; k < MOST; ++k) {
            seed = seed * 1664525u + 1013904223u;
            input[k] = (int8_t)(seed >> 24);
            weights[k] = (int8_t)(seed >> 16);
        }
        for (int32_t c = 0; c < l->out_c; ++c) {
            int32_t sum = 0;
            for (int32_t k = 0; k < taps; ++k) {
                sum += l->is_depthwise ? weights[k * l->out_c + c] : weights[c * taps + k];
            }
            bias[c] = 100 * c;
            folded[c] = bias[c] - 5 * sum;
            multiplier[c] = 1518500250 + c;
            shift[c] = shift_bytes[c] = -9;
        }
        a = run_ours(l, out, pad);
        b = run_theirs(l, out, pad);
        printf("%-34s %10lu %10lu %6.2f%s\n", l->name, (unsigned long)a, (unsigned long)b, (double)a / b, memcmp(ours, theirs, (size_t)(out * out * l->out_c)) == 0 ? "" : "  DIFFERENT");
    }
    return 0;
}
