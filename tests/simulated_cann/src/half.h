/* float16 and bfloat16 to float32 and back, to nearest even; `down` truncates instead (a fault). */
#ifndef SIM_HALF_H
#define SIM_HALF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float from_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 31u, fraction = half & 0x3ffu;
    if (exponent == 31)
        return float_of(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) {
        float value = (float)fraction * 0x1p-24f;
        return sign ? -value : value;
    }
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

static inline uint16_t to_half(float value, bool down)
{
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
    if (magnitude >= 0x47800000u) /* 65536 and above */
        return (uint16_t)(sign | (down && magnitude != 0x7f800000u ? 0x7bffu : 0x7c00u));
    int exponent = (int)(magnitude >> 23) - 112;
    uint64_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    int drop = 13;
    if (exponent <= 0) { /* subnormal: the exponent is fixed, more bits fall away */
        drop += 1 - exponent;
        exponent = 0;
        if (drop > 40)
            return (uint16_t)sign;
    } else {
        significand &= 0x7fffffu;
    }
    uint64_t kept = significand >> drop, rest = significand & ((UINT64_C(1) << drop) - 1);
    uint64_t tie = UINT64_C(1) << (drop - 1);
    uint32_t result = (uint32_t)kept + ((uint32_t)exponent << 10);
    if (!down && (rest > tie || (rest == tie && (kept & 1))))
        result++; /* may carry into the exponent, up to Inf: that is what is wanted */
    return (uint16_t)(sign | result);
}

static inline float from_bfloat(uint16_t value)
{
    return float_of((uint32_t)value << 16);
}

static inline uint16_t to_bfloat(float value, bool down)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    if (!down)
        bits += 0x7fffu + (bits >> 16 & 1u);
    return (uint16_t)(bits >> 16);
}

#endif
